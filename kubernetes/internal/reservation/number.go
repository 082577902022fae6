// SPDX-License-Identifier: Apache-2.0

package reservation

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Beyond every limit, and short enough to be shown in a sentence.
const outOfRange = int64(1_000_000_000_000_000_000)

// As many characters of a value as a sentence quotes.
const longestShown = 60

var (
	digits  = regexp.MustCompile(`^[0-9]+$`)
	integer = regexp.MustCompile(`^-?[0-9]+$`)
)

// parseNumber returns the whole number that a parameter holds: a JSON integer, a string
// of digits, or a list of one of these.
func parseNumber(name string, raw json.RawMessage) (int64, error) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && list != nil {
		if len(list) != 1 {
			return 0, invalid("%s has %d values: give one.", name, len(list))
		}
		raw = list[0]
	}
	text := strings.TrimSpace(string(raw))
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil && digits.MatchString(quoted) {
		text = quoted
	}
	if !integer.MatchString(text) {
		return 0, invalid("%s is %s: give a whole number in digits, for example 100000.",
			name, shown(raw))
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number >= outOfRange || number <= -outOfRange {
		return 0, invalid("%s is a number far out of range: give one such as 100000.", name)
	}
	return number, nil
}

// shown returns a JSON value as Python's repr writes it, shortened, because users read
// the same sentence from Nova.
func shown(raw json.RawMessage) string {
	text := strings.TrimSpace(string(raw))
	var quoted string
	switch {
	case text == "null":
		text = "None"
	case text == "true":
		text = "True"
	case text == "false":
		text = "False"
	case json.Unmarshal(raw, &quoted) == nil:
		text = repr(quoted)
	}
	if utf8.RuneCountInString(text) > longestShown {
		text = string([]rune(text)[:longestShown-3]) + "..."
	}
	return text
}

func repr(text string) string {
	quote := '\''
	if strings.ContainsRune(text, '\'') && !strings.ContainsRune(text, '"') {
		quote = '"'
	}
	var out strings.Builder
	out.WriteRune(quote)
	for _, char := range text {
		switch {
		case char == quote || char == '\\':
			out.WriteRune('\\')
			out.WriteRune(char)
		case unicode.IsPrint(char):
			out.WriteRune(char)
		default:
			escaped := strconv.QuoteRune(char)
			out.WriteString(escaped[1 : len(escaped)-1])
		}
	}
	out.WriteRune(quote)
	return out.String()
}
