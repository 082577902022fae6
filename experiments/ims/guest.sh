# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash
# Registrations with Kamailio and MariaDB in a container, in the guest.
#
# Needs, in µs of the guest: RUNTIME PERIOD, the container's reservation; NOISE_C
# NOISE_T, of each of four noisy tasks; NOISE_RUNTIME, of their group. LOAD in
# percent, of the container; COUNT, of registrations, and WARM_UP, of those before
# them; CASES, such as "fair-quiet".
# Leaves /out/CASE.csv, as SIPp writes it, and in /out/use a line for each case: CPU
# time of the container, of the noise and of SIPp, and time that passed, in ns.

root=/debian
export PATH=/bin:/usr/bin:/usr/sbin
mkdir -p /run /acct
# SIPp is in the way of nobody's reservation, see below, but has one of its own:
# together they are above what the kernel admits.
echo -1 > /proc/sys/kernel/sched_rt_runtime_us
mount -t cgroup -o cpuacct none /acct
mount --bind /proc $root/proc
mount --bind /dev $root/dev

# The network of the container stays, with SIPp at the other end of it.
/tools/ip netns add container
/tools/ip link add veth0 type veth peer name veth1 netns container
/tools/ip addr add 10.0.0.1/24 dev veth0
/tools/ip link set veth0 up
/tools/ip -n container link set lo up
/tools/ip -n container addr add 10.0.0.2/24 dev veth1
/tools/ip -n container link set veth1 up

# group NAME RUNTIME PERIOD: a group as libvirt makes it, reserved under hcbs.
group() {
	mkdir -p "/cg/$1" "/acct/$1"
	[ "$scheduler" = hcbs ] || return 0
	echo "$3" > "/cg/$1/cpu.rt_period_us"
	echo "$2" > "/cg/$1/cpu.rt_runtime_us"
}

# within GROUP PROGRAM ...: run it in a group, in real time under hcbs.
within() {
	group=$1 priority=
	shift
	[ "$scheduler" = hcbs ] && priority="chroot $root chrt --rr --pid 50"
	sh -ec 'echo $$ > "/acct/$0/tasks"
		echo $$ > "/cg/$0/tasks"
		policy=$1
		shift
		[ -z "$policy" ] || $policy $$
		exec "$@"' "$group" "$priority" "$@"
}

# until_there WHAT COMMAND ...: wait until it succeeds.
until_there() {
	what=$1
	shift
	for _ in $(seq 300); do
		"$@" && return
		sleep 0.1
	done
	echo "FAILED $what did not start"
	tail -n 5 /tmp/*.log
	exit 1
}

# leave GROUP: end all that is in it, and the group.
leave() {
	[ -e "/cg/$1" ] || return 0
	until rmdir "/acct/$1" "/cg/$1" 2>/dev/null; do
		# shellcheck disable=SC2046
		kill -9 $(cat "/cg/$1/tasks") 2>/dev/null || true
		sleep 0.1
	done
}

start() {
	rm -rf /tmp/mysql
	cp -a $root/var/lib/mysql /tmp/mysql
	mount --bind /tmp/mysql $root/var/lib/mysql
	group container "$RUNTIME" "$PERIOD"
	within container chroot $root mariadbd > /tmp/mariadb.log 2>&1 &
	until_there MariaDB test -S $root/run/mysqld/mysqld.sock
	within container /tools/ip netns exec container chroot $root kamailio -DD -E -T \
		-l udp:10.0.0.2:5060 > /tmp/kamailio.log 2>&1 &
	until_there Kamailio /tools/ip netns exec container grep -q :13C4 /proc/net/udp
	sleep 2
}

stop() {
	leave noise
	leave container
	rm -f $root/run/mysqld/mysqld.sock
	umount $root/var/lib/mysql
}

# The time since the boot in ns, of which the kernel tells hundredths of a second.
uptime_ns() {
	read -r seconds _ < /proc/uptime
	echo "${seconds%.*}${seconds#*.}0000000"
}

# use GROUP: the CPU time of a group so far, in ns; 0 if there is none.
use() {
	cat "/acct/$1/cpuacct.usage" 2>/dev/null || echo 0
}

# register COUNT: at INTERVAL ms per 1000. Sets USED, a line of what it took. SIPp
# stands for another machine, so it must not wait.
register() {
	mkdir -p /acct/sipp
	set -- "$1" "$(use container)" "$(use noise)" "$(uptime_ns)"
	sh -c 'echo $$ > /acct/sipp/tasks; exec "$@"' sh chroot $root \
		chrt --reset-on-fork --deadline --sched-runtime 900000 \
		--sched-deadline 1000000 --sched-period 1000000 0 \
		env LD_PRELOAD=exact-clock.so sipp 10.0.0.2 -i 10.0.0.1 -sf /etc/register.xml -inf /etc/users.csv \
		-m "$1" -r 1000 -rp "$INTERVAL" -l 100000 -nostdin -timer_resol 1 \
		-trace_rtt -rtt_freq "$1" > /tmp/sipp.log 2>&1 || {
		echo "FAILED SIPp"
		tail -n 30 /tmp/sipp.log /tmp/kamailio.log
		exit 1
	}
	USED="$(($(use container) - $2)) $(($(use noise) - $3)) $(use sipp) $(($(uptime_ns) - $4))"
	rmdir /acct/sipp
	echo "$1 registrations at 1000 in $INTERVAL ms: $USED"
	mv $root/register_*_rtt.csv /tmp/rtt.csv
}

# How long 1000 registrations must take for the container's LOAD: from what they
# need of the CPU when they come slowly, and then again at about that rate.
calibrate() {
	INTERVAL=4000
	for count in 200 200; do
		register $count
		INTERVAL=$((${USED%% *} / (count * LOAD * 10)))
	done
}

INTERVAL=
for case in $CASES; do
	scheduler=${case%-*}
	start
	[ -n "$INTERVAL" ] || calibrate
	register "$WARM_UP"
	if [ "${case#*-}" = noise ]; then
		group noise "$NOISE_RUNTIME" "$NOISE_T"
		within noise exp noise 4 "$NOISE_C" "$NOISE_T" &
	fi
	register "$COUNT"
	mv /tmp/rtt.csv "/out/$case.csv"
	echo "$case $USED" | tee -a /out/use
	stop
done
