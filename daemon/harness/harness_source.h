/* Harness source: harness.py and survey.py as bytes, compiled in so that no file of ours has to be
 * found or trusted at run time. The build makes the definitions. */
#pragma once

extern const unsigned char harness_source[];
extern const unsigned long harness_source_bytes;
extern const unsigned char survey_source[];
extern const unsigned long survey_source_bytes;
