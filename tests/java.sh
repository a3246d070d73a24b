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
sh "$(dirname "$0")/apt.sh" default-jre-headless
find_java && exit
echo "Java 17 is missing and cannot be installed: install it, or name its directory in JAVA_HOME" >&2
exit 1
