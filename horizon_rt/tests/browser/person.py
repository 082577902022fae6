# SPDX-License-Identifier: Apache-2.0
"""Who looks at Horizon: what she does, and what she sees."""

from selenium.common.exceptions import NoSuchElementException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE = 120.0  # seconds; Horizon compiles its style sheets when it is first asked
PANEL = '/admin/real_time/'


class Person:
    """A user at a browser."""

    def __init__(self, browser, cloud):
        self.browser = browser
        self._cloud = cloud

    def log_in(self, name):
        """Log in to the project of the same name."""
        self.go('/auth/login/')
        for field, text in (('id_username', name), ('id_password', self._cloud.password)):
            self.browser.find_element(By.ID, field).send_keys(text)
        self.browser.find_element(By.ID, 'loginBtn').click()
        self.wait(lambda: '/auth/login' not in self.browser.current_url)

    def go(self, path):
        """Open a page."""
        self.browser.get(self._cloud.dashboard + path)

    def sees(self, element):
        """Return the text of the element with an id, None if there is none."""
        try:
            return self.browser.find_element(By.ID, element).text
        except NoSuchElementException:
            return None

    def enter(self, **fields):
        """Fill a form's fields, and send it."""
        for name, text in fields.items():
            field = self.browser.find_element(By.NAME, name)
            if field.tag_name == 'select':
                Select(field).select_by_value(text)
                continue
            field.clear()
            field.send_keys(text)
        self.browser.find_element(By.CSS_SELECTOR, 'input[type=submit]').click()

    def errors(self):
        """Return what a form says is wrong, by field; '' for the form as a whole."""
        found = {}
        for group in self.browser.find_elements(By.CSS_SELECTOR, '.form-group.has-error'):
            name = group.find_element(By.CSS_SELECTOR, 'input,select').get_attribute('name')
            found[name] = group.find_element(By.CSS_SELECTOR, '.help-block:last-child').text
        for alert in self.browser.find_elements(By.CSS_SELECTOR, 'form .alert-danger'):
            found[''] = alert.text
        return found

    def wait(self, condition):
        """Wait until something holds, and return it."""
        return WebDriverWait(self.browser, PATIENCE).until(lambda _: condition())

    def links(self):
        """Return where the page's links lead to."""
        return [link.get_attribute('href') or ''
                for link in self.browser.find_elements(By.TAG_NAME, 'a')]

    def looks_at_server(self, dashboard, uuid):
        """Open the details of a server, and its tab; return the tab's text."""
        page = 'detail' if dashboard == 'admin' else ''
        self.go(f'/{dashboard}/instances/{uuid}/{page}?tab=instance_details__real_time')
        return self.wait(lambda: self.sees('real-time'))
