# SPDX-License-Identifier: Apache-2.0
"""The pages of the panel."""

from django.urls import re_path

from horizon_rt import views

urlpatterns = [
    re_path(r'^$', views.Index.as_view(), name='index'),
    re_path(r'^hosts/(?P<host>[^/]+)/$', views.Host.as_view(), name='host'),
    re_path(r'^flavors/(?P<flavor>[^/]+)/$', views.Flavor.as_view(), name='flavor'),
]
