#!/bin/sh
# install.sh - `make install`: header, libraries, phoenix.pc, the commands phx and phxrun, man pages.
#
#     make install PREFIX=/usr/local DESTDIR= TLS=1
#
# The environment has PREFIX, DESTDIR, CC, CFLAGS and TLS (not empty: with BearSSL). A C compiler, ar and
# install are enough; nothing outside of DESTDIR/PREFIX and build/ is touched.
set -eu
cd "$(dirname "$0")/.."
prefix=${PREFIX:-/usr/local}
to=${DESTDIR-}$prefix
dir=build/install
cc=${CC:-cc}
version=$(sed -n 's/^#define PHX_VERSION "\(.*\)"/\1/p' phoenix.h)
# What a program was linked with below 1.0 is not sure to fit the next minor version.
soname=libphoenix.so.${version%.*}
flags="${CFLAGS:--std=c99 -O2}${TLS:+ -DPHX_TLS}"
libs=${TLS:+-lbearssl}

rm -rf "$dir"
mkdir -p "$dir" "$to/include" "$to/lib/pkgconfig" "$to/bin" "$to/share/man/man1"
$cc $flags -c phoenix.c -o "$dir/phoenix.o"
ar rc "$dir/libphoenix.a" "$dir/phoenix.o"
$cc $flags -fPIC -shared -Wl,-soname,"$soname" phoenix.c $libs -o "$dir/$soname"
$cc $flags -o "$dir/phx" extras/phx/*.c extras/ssh/ssh.c "$dir/phoenix.o" $libs
$cc $flags -I. -o "$dir/phxrun" $(ls extras/launch/*.c | grep -v /nla.c) extras/ftmpi/lib/arbiter.c \
    extras/ftmpi/lib/start.c extras/ftmpi/lib/modes.c "$dir/phoenix.o" $libs
cat > "$dir/phoenix.pc" << END
prefix=$prefix
Name: phoenix
Description: Messages by name across firewalls, NATs and many hops, inside your own event loop
Version: $version
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/lib -lphoenix
Libs.private: $libs
END
install -m 644 phoenix.h "$to/include/"
install -m 644 "$dir/libphoenix.a" "$to/lib/"
install -m 755 "$dir/$soname" "$to/lib/"
ln -sf "$soname" "$to/lib/libphoenix.so"
install -m 644 "$dir/phoenix.pc" "$to/lib/pkgconfig/"
install -m 755 "$dir/phx" "$dir/phxrun" "$to/bin/"
install -m 644 extras/phx/phx.1 extras/launch/phxrun.1 "$to/share/man/man1/"
echo "Phoenix $version is in $to"
