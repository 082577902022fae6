# SPDX-License-Identifier: Apache-2.0
"""The panel Admin, Compute, Real-time, and a tab in the details of each instance.

Horizon reads it from openstack_dashboard/local/enabled ("Pluggable Panels and Groups" in its
documentation).
"""

PANEL = 'real_time'
PANEL_DASHBOARD = 'admin'
PANEL_GROUP = 'compute'
ADD_PANEL = 'horizon_rt.panel.RealTime'
ADD_INSTALLED_APPS = ['horizon_rt']
EXTRA_TABS = {
    'openstack_dashboard.dashboards.project.instances.tabs.InstanceDetailTabs':
        ['horizon_rt.tab.Reservation'],
    'openstack_dashboard.dashboards.admin.instances.tabs.AdminInstanceDetailTabs':
        ['horizon_rt.tab.Reservation'],
}
