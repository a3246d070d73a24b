#!/bin/sh
# Prints the path of Java 17 or later, for the tests of Spark. Where it is missing and apt-get needs no password, Debian's package is
# installed. Exit code 1 and a message on stderr if there is none.
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
    # a second try with fresh package lists, which some machines lack
    { $apt install default-jre-headless || { $apt update && $apt install default-jre-headless; }; } >&2
fi
find_java && exit
echo "Java 17 is missing and cannot be installed: install it, or let JAVA_HOME name it" >&2
exit 1
