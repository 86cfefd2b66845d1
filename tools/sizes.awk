# sizes.awk: prints file:line for every C file over max_lines lines and every function over
# max_function_lines (set both with -v). The exit status is 1 when there is one. Relies on the
# tree's format: a definition starts in the first column, its body ends with a brace there.

function complain(line, what) {
    printf "%s:%d: %s\n", file, line, what
    bad = 1
}

function end_of_file() {
    if (lines > max_lines) complain(lines, lines " lines; at most " max_lines)
}

FNR == 1 {
    if (file) end_of_file()
    file = FILENAME
    start = 0
    inside = 0
}

{ lines = FNR }

# The first line of a definition; the brace may come on a later one.
!inside && /^[A-Za-z_]/ && !/[;:]$/ { start = FNR }
!inside && start && /\) \{$/ { inside = 1 }
inside && /^}$/ {
    if (FNR - start + 1 > max_function_lines)
        complain(start, "a function of " FNR - start + 1 " lines; at most " max_function_lines)
    inside = 0
    start = 0
}

END {
    if (file) end_of_file()
    exit bad
}
