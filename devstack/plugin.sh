#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# DevStack's plug-in for nova-rt: sourced with a mode and a phase, see
# https://docs.openstack.org/devstack/latest/plugins.html.

# Nova's path changed between releases of DevStack.
function nova_rt_command {
    echo "${NOVA_BIN_DIR:-/usr/local/bin}/$1"
}

function nova_rt_has_containers {
    [[ "$NOVA_RT_VIRT_TYPE" == lxc ]]
}

function nova_rt_check_host {
    if ! is_ubuntu; then
        die $LINENO "nova-rt: this plug-in needs Debian or Ubuntu."
    fi
    if [[ ! "$NOVA_RT_VIRT_TYPE" =~ ^(kvm|qemu|lxc)$ ]]; then
        die $LINENO "nova-rt: set NOVA_RT_VIRT_TYPE to kvm, qemu or lxc."
    fi
    if [[ ! "$NOVA_RT_ADMISSION" =~ ^(ledger|kernel)$ ]]; then
        die $LINENO "nova-rt: set NOVA_RT_ADMISSION to ledger or kernel."
    fi
    if [[ ! "$NOVA_RT_TURNS" =~ ^(timer|tick)$ ]]; then
        die $LINENO "nova-rt: set NOVA_RT_TURNS to timer or tick."
    fi
}

function nova_rt_install_packages {
    # They build rt-init, a static program.
    install_package gcc libc6-dev
    if is_service_enabled n-cpu && nova_rt_has_containers; then
        install_package libvirt-daemon-driver-lxc
    fi
}

function nova_rt_install {
    setup_develop "$NOVA_RT_DIR"
}

function nova_rt_configure_api {
    "$(nova_rt_command nova-rt-manage)" paste add "$NOVA_API_PASTE_INI"
    iniset "$NOVA_CONF" rt cap "$NOVA_RT_CAP"
}

function nova_rt_configure_scheduler {
    local filters
    local weighers=nova.scheduler.weights.all_weighers
    weighers+=,nova_rt.filters.rt_share_weigher.RTShareWeigher
    filters=$(iniget "$NOVA_CONF" filter_scheduler enabled_filters)
    filters=${filters:-$NOVA_FILTERS}
    # Last, so that its reason is the one that the user reads.
    if [[ ",$filters," != *",RTShareFilter,"* ]]; then
        iniset "$NOVA_CONF" filter_scheduler enabled_filters \
            "${filters:+$filters,}RTShareFilter"
    fi
    iniset_multiline "$NOVA_CONF" filter_scheduler available_filters \
        nova.scheduler.filters.all_filters \
        nova_rt.filters.rt_share_filter.RTShareFilter
    iniset "$NOVA_CONF" filter_scheduler weight_classes "$weighers"
}

function nova_rt_configure_compute {
    # DevStack names another driver; nova-rt-compute brings its own.
    inidelete "$NOVA_CONF" DEFAULT compute_driver
    if nova_rt_has_containers; then
        # An LXC root cannot be a chain of qcow2 files.
        iniset "$NOVA_CONF" DEFAULT use_cow_images False
        iniset "$NOVA_CONF" DEFAULT force_raw_images True
        iniset "$NOVA_CONF" libvirt virt_type lxc
        iniset "$NOVA_CONF" libvirt images_type raw
    fi
    iniset "$NOVA_CONF" rt cap "$NOVA_RT_CAP"
    iniset "$NOVA_CONF" rt placement_policy "$NOVA_RT_PLACEMENT_POLICY"
    iniset "$NOVA_CONF" rt hcbs_scheduler_available "$NOVA_RT_HCBS_AVAILABLE"
    if [[ -n "$NOVA_RT_CPU_SET" ]]; then
        iniset "$NOVA_CONF" rt cpu_set "$NOVA_RT_CPU_SET"
    fi
}

# vCPUs are pinned threads under SCHED_DEADLINE, which a kernel that admits for all
# pCPUs together refuses.
function nova_rt_configure_admission {
    if nova_rt_has_containers || [[ "$NOVA_RT_ADMISSION" == kernel ]]; then
        return
    fi
    echo_summary "nova-rt: setting kernel.sched_rt_runtime_us to -1"
    echo "kernel.sched_rt_runtime_us = -1" | \
        sudo tee "$NOVA_RT_SYSCTL" > /dev/null
    sudo sysctl -q -p "$NOVA_RT_SYSCTL"
}

function nova_rt_configure_turns {
    if nova_rt_has_containers || [[ "$NOVA_RT_TURNS" == tick ]]; then
        return
    fi
    echo_summary "nova-rt: turning the scheduler's feature HRTICK_DL on"
    sudo cp "$NOVA_RT_DIR/etc/systemd/nova-rt-turns.service" "$NOVA_RT_UNITS/"
    sudo systemctl daemon-reload
    if ! sudo systemctl enable --now nova-rt-turns; then
        echo_summary "nova-rt: it cannot be turned on, so turns end at the tick;" \
            "is the kernel locked down?"
    fi
}

# DevStack goes on starting and stopping n-cpu, and writes its nova-cpu.conf.
function nova_rt_replace_compute {
    local conf=${NOVA_CPU_CONF:-$NOVA_CONF}
    sudo mkdir -p "$(dirname "$NOVA_RT_DROP_IN")"
    sudo tee "$NOVA_RT_DROP_IN" > /dev/null <<EOF
[Service]
User=root
ExecStart=
ExecStart=$(nova_rt_command nova-rt-compute) --config-file $conf
EOF
    sudo systemctl daemon-reload
    # DevStack tells only its own user's sudo where nova-rootwrap is.
    local path=/usr/sbin:/usr/bin:/sbin:/bin:${NOVA_BIN_DIR:-/usr/local/bin}
    echo "Defaults:root secure_path=$path" | \
        sudo tee "$NOVA_RT_SUDOERS" > /dev/null
    sudo chmod 440 "$NOVA_RT_SUDOERS"
}

function nova_rt_configure {
    # It writes into nova.conf too, in the background, and one would undo the other.
    async_wait configure_neutron_nova
    if is_service_enabled n-api; then
        nova_rt_configure_api
    fi
    if is_service_enabled n-sch; then
        nova_rt_configure_scheduler
    fi
    if is_service_enabled n-cpu; then
        nova_rt_configure_compute
        nova_rt_configure_admission
        nova_rt_configure_turns
        nova_rt_replace_compute
    fi
}

# The API database, which knows every cell, is where nova-api is.
function nova_rt_upgrade_databases {
    if is_service_enabled n-api; then
        "$(nova_rt_command nova-rt-manage)" --config-file "$NOVA_CONF" \
            db upgrade
    fi
}

# nova-api answers it, beside its own; as DevStack's create_nova_accounts names that.
function nova_rt_enter_into_catalogue {
    if is_service_enabled n-api; then
        get_or_create_service nova-rt rt "Real-time CPU reservations"
        get_or_create_endpoint rt "$REGION_NAME" \
            "$NOVA_SERVICE_PROTOCOL://$NOVA_SERVICE_HOST/compute/rt"
    fi
}

function nova_rt_clean {
    if [[ -f "$NOVA_RT_SYSCTL" ]]; then
        sudo rm -f "$NOVA_RT_SYSCTL"
        # What it is after boot.
        sudo sysctl -q -w kernel.sched_rt_runtime_us=950000
    fi
    if [[ -f "$NOVA_RT_UNITS/nova-rt-turns.service" ]]; then
        sudo systemctl disable --now nova-rt-turns
        sudo rm -f "$NOVA_RT_UNITS/nova-rt-turns.service"
    fi
    sudo rm -f "$NOVA_RT_DROP_IN" "$NOVA_RT_SUDOERS"
    sudo rmdir --ignore-fail-on-non-empty "$(dirname "$NOVA_RT_DROP_IN")" \
        2> /dev/null || true
    sudo systemctl daemon-reload
    if [[ -f "$NOVA_API_PASTE_INI" ]] && \
            [[ -x "$(nova_rt_command nova-rt-manage)" ]]; then
        "$(nova_rt_command nova-rt-manage)" paste remove "$NOVA_API_PASTE_INI"
    fi
}

if is_service_enabled nova; then
    case "$1/$2" in
    stack/pre-install)
        nova_rt_check_host
        echo_summary "nova-rt: installing packages"
        nova_rt_install_packages
        ;;
    stack/install)
        echo_summary "nova-rt: installing"
        nova_rt_install
        ;;
    stack/post-config)
        echo_summary "nova-rt: configuring Nova"
        nova_rt_configure
        ;;
    stack/extra)
        echo_summary "nova-rt: adding columns to the cells' databases"
        nova_rt_upgrade_databases
        nova_rt_enter_into_catalogue
        ;;
    unstack/*)
        # DevStack stops n-cpu, and with it ours. Its unstack.sh then ends virtual
        # machines (cleanup_nova), but would not find containers.
        if is_service_enabled n-cpu && nova_rt_has_containers; then
            sudo virsh -c lxc:///system list --name | \
                xargs -r -n 1 sudo virsh -c lxc:///system destroy || true
        fi
        ;;
    clean/*)
        nova_rt_clean
        ;;
    esac
fi
