/* Harness source: harness.py as bytes, compiled in so that no file of ours has to be found or
 * trusted at run time. The build makes the definitions. */
#pragma once

extern const unsigned char harness_source[];
extern const unsigned long harness_source_bytes;
