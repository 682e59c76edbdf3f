#!/usr/bin/env bash
# Runs a program of a build on an emulated processor with AVX-512, for machines that have none:
#
#   [ENVIRONMENT="NAME=VALUE ..."] [FILES="FILE ..."] emulate_avx512.sh PROGRAM [ARGUMENT ...]
#
# Bochs emulates a Skylake-X with one core and 2 GiB; a Debian kernel boots in it from an image in memory that holds the program, the libraries that
# it is linked with and FILES (at their own paths), and nothing else. It boots in a minute and runs some thirty million instructions a second, 100 times
# slower than the machine: counts are for that to be chosen. ENVIRONMENT is the program's.
#
# Prints what the program printed and ends with its exit status. Below EMULATE_DIR (by default a folder under /tmp, kept, for the packages in it).
# Needs Debian with its package registry, and root to install Bochs.
set -euo pipefail
[ $# -ge 1 ] && [ -x "$1" ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1
shift

packages=(bochs bochs-term bochsbios vgabios isolinux syslinux-common genisoimage busybox-static cpio)
missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
done
[ ${#missing[@]} = 0 ] || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null

dir=${EMULATE_DIR:-${TMPDIR:-/tmp}/emulate-avx512}
mkdir -p "$dir/kernel"
dir=$(cd "$dir" && pwd)
if ! ls "$dir"/kernel/boot/vmlinuz-* >/dev/null 2>&1; then
  # The kernel for virtual machines is the smallest.
  kernel=$(apt-cache search --names-only '^linux-image-[0-9.]+-[0-9]+-cloud-amd64-unsigned$' | sort -V | tail -n 1 | cut -d' ' -f1)
  (cd "$dir" && apt-get download -q "$kernel" >/dev/null 2>&1 && dpkg-deb -x "$kernel"_*.deb kernel)
fi

# Several may run at once.
run=$(mktemp -d "$dir/run.XXXXXX")
trap 'rm -rf "$run"' EXIT
root=$run/root
mkdir -p "$root"/{bin,proc,sys,dev,tmp} "$run/iso/isolinux"
cp /bin/busybox "$root/bin/"
ln -s busybox "$root/bin/sh"
cp -L "$program" "$root/bin/program"
for file in $(ldd "$program" 2>/dev/null | grep -o '/[^ ]*') ${FILES:-}; do
  mkdir -p "$root$(dirname "$file")"
  cp -rL "$file" "$root$file"
done
cat >"$root/init" <<END
#!/bin/sh
busybox=/bin/busybox
\$busybox mount -t proc proc /proc; \$busybox mount -t devtmpfs dev /dev; \$busybox mount -t tmpfs tmp /tmp; \$busybox mount -t sysfs sys /sys
export HOME=/tmp TMPDIR=/tmp
\$busybox ip link set lo up
\$busybox grep -q avx512bw /proc/cpuinfo || echo 'no AVX-512 in the emulated processor'
echo '== output'
${ENVIRONMENT:-} /bin/program ${*@Q} 2>&1
echo "== status \$?"
\$busybox poweroff -f
END
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet) >"$run/iso/initrd"
cp "$dir"/kernel/boot/vmlinuz-* "$run/iso/vmlinuz"
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$run/iso/isolinux/"
# Bochs gives the size of compacted states of the processor wrong, with which the kernel would do without AVX: plain states.
cat >"$run/iso/isolinux/isolinux.cfg" <<END
DEFAULT linux
PROMPT 0
LABEL linux
  KERNEL /vmlinuz
  APPEND initrd=/initrd console=ttyS0,115200 quiet nokaslr mitigations=off nosmp lpj=1000000 tsc=reliable no_timer_check random.trust_cpu=on noxsaves clearcpuid=321,323 panic=1
END
genisoimage -quiet -o "$run/disk.iso" -b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table "$run/iso"
# Few instructions to the emulated second: what sleeps wakes soon.
cat >"$run/bochsrc" <<END
cpu: model=corei7_skylake_x, count=1, ips=8000000, reset_on_triple_fault=0
memory: guest=2048, host=2048
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=$run/disk.iso, status=inserted
boot: cdrom
clock: sync=none, time0=1700000000
com1: enabled=1, mode=file, dev=$run/serial.txt
display_library: term
log: $run/log.txt
panic: action=report
error: action=ignore
info: action=ignore
END
# Debian's Bochs has a debugger, which waits to be told to continue.
echo c >"$run/rc"
TERM=xterm script -qc "bochs -q -f $run/bochsrc -rc $run/rc" /dev/null >"$run/screen.txt" 2>&1 </dev/null || true
tr -d '\r' <"$run/serial.txt" | sed -n '/^== output/,/^== status/p' | sed '1d;$d'
status=$(tr -d '\r' <"$run/serial.txt" | sed -n 's/^== status \([0-9]*\)$/\1/p' | tail -n 1)
[ -n "$status" ] || { echo "the emulated machine ended before the program:" >&2; tail -n 20 "$run/serial.txt" >&2; exit 1; }
exit "$status"
