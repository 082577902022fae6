# SPDX-License-Identifier: Apache-2.0
# Stands in for DevStack's functions and for what would change the machine:
# notes each call in the file $RECORD. Files below $SANDBOX are really written.

function record {
    echo "$*" >> "$RECORD"
}

function is_service_enabled {
    [[ ",$ENABLED_SERVICES," == *",$1,"* ]]
}

function is_ubuntu {
    [[ "$PACKAGES" == "deb" ]]
}

function die {
    record "die $2"
    exit 1
}

function echo_summary {
    record "echo_summary $*"
}

function iniset {
    "$PYTHON" "$INI" set "$@"
}

function iniset_multiline {
    "$PYTHON" "$INI" set "$@"
}

function iniget {
    "$PYTHON" "$INI" get "$@"
}

function inidelete {
    "$PYTHON" "$INI" delete "$@"
}

function async_wait {
    record "async_wait $*"
}

function install_package {
    record "install_package $*"
}

function get_or_create_service {
    record "get_or_create_service $*"
}

function get_or_create_endpoint {
    record "get_or_create_endpoint $*"
}

function setup_develop {
    record "setup_develop $*"
}

function sudo {
    record "sudo $*"
    case "$1" in
    systemctl)
        [[ "$2" != "$SYSTEMCTL_FAILS" ]]
        ;;
    cp|mkdir|tee|rm|rmdir)
        if [[ "${*: -1}" != "$SANDBOX"/* ]]; then
            record "outside: ${*: -1}"
            return 1
        fi
        "$@"
        ;;
    virsh)
        if [[ "$*" == *list* ]]; then
            printf 'instance-1\ninstance-2\n\n'
        fi
        ;;
    esac
}

# xargs starts programs, not functions.
function xargs {
    local name
    while read -r name; do
        if [[ -n "$name" ]]; then
            "${@:4}" "$name"
        fi
    done
}
