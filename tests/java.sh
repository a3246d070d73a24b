#!/bin/sh
# Prints the path of Java 17 or later, for the tests of Spark. If it is missing and apt-get needs no password, Debian's package is installed. If
# that fails, the exit code is 1, with a message on stderr.
find_java() {
    for java in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java)"; do
        # java version "21.0.2": the number before the first dot
        version=$([ -x "$java" ] && "$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p;T;q')
        [ "${version:-0}" -ge 17 ] && echo "$java" && return
    done
    return 1
}
find_java && exit
if command -v apt-get >/dev/null; then
    apt="env DEBIAN_FRONTEND=noninteractive apt-get -qq -y"
    [ "$(id -u)" = 0 ] || apt="sudo -n $apt"
    # some machines have no package lists: they are fetched for a second try
    { $apt install default-jre-headless || { $apt update && $apt install default-jre-headless; }; } >&2
fi
find_java && exit
echo "Java 17 is missing and cannot be installed: install it, or name its directory in JAVA_HOME" >&2
exit 1
