/* Expect read: an `expect:` mapping of a suite file as an Expect. */
#pragma once

#include "expect.h"
#include "suite_reader.h"

/* What a case without `expect` expects: passed. */
Expect expect_default(void);
/* Memory is the reader's arena's. 0, also with problems, or -ENOMEM. */
int expect_read(const SuiteReader *reader, const Node *node, const char *path, Expect *ret_expect);
