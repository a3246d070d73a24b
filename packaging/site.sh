#!/bin/sh
# Puts the book of a version beside those of earlier ones, on the branch gh-pages, which GitHub can show as a site:
#
#     packaging/site.sh BOOK VERSION REPOSITORY
#
# copies the directory BOOK (`make book` makes target/book) to the folder VERSION of the branch, in place of what that folder had, and pushes it to
# the repository. index.html leads to the newest version that is no pre-release, and versions.html lists all. .github/workflows/site.yml calls it for
# each release.
set -eu
book=$(cd "$1" && pwd)
version=$2
repository=$3
case $version in
*[!0-9A-Za-z.-]* | .* | '')
    echo "$version cannot be the name of a folder" >&2
    exit 2
    ;;
esac
test -s "$book/index.html"
branch=gh-pages
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if git ls-remote --exit-code "$repository" "refs/heads/$branch" >/dev/null; then
    git clone -q --depth 1 --branch "$branch" "$repository" "$work/site"
else
    git init -q --initial-branch "$branch" "$work/site"
fi
cd "$work/site"
rm -rf "./$version"
cp -R "$book" "./$version"
# otherwise GitHub leaves out files whose names begin with an underscore
: >.nojekyll
versions=$(for page in */index.html; do echo "${page%/index.html}"; done | sort -rV)
newest=$(echo "$versions" | sed -n '/-/!{p;q;}')
newest=${newest:-$version}
cat >index.html <<END
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>riposte</title><meta http-equiv="refresh" content="0; url=$newest/index.html"></head>
<body><p><a href="$newest/index.html">riposte $newest</a> · <a href="versions.html">all versions</a></p></body></html>
END
{
    echo '<!doctype html>'
    echo '<html lang="en"><head><meta charset="utf-8"><title>Versions of riposte</title></head><body><h1>Versions of riposte</h1><ul>'
    for one in $versions; do
        echo "<li><a href=\"$one/index.html\">$one</a></li>"
    done
    echo '</ul></body></html>'
} >versions.html
git add -A
git -c user.name=riposte -c user.email=riposte@example.org commit -q --allow-empty -m "the book of $version"
git push -q "$repository" "HEAD:refs/heads/$branch"
echo "$branch has $(echo "$versions" | tr '\n' ' ')"
