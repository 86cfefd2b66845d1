/* Bootstrap: the fixed program every interpreter is started with: it reads frames from descriptor 3
 * and runs the first one. It never reads a byte ahead. */
#pragma once

static const char bootstrap_source[] = "import os\n"
                                       "JOB, MARK = 3, 4\n"
                                       "def read_exact(n):\n"
                                       "    parts = []\n"
                                       "    while n > 0:\n"
                                       "        part = os.read(JOB, min(n, 1 << 20))\n"
                                       "        if not part:\n"
                                       "            os._exit(70)\n"
                                       "        parts.append(part)\n"
                                       "        n -= len(part)\n"
                                       "    return b''.join(parts)\n"
                                       "def read_frame():\n"
                                       "    return read_exact(int(read_exact(10)))\n"
                                       "exec(compile(read_frame(), '<harness>', 'exec'))\n";
