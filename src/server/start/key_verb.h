/* `hotcell key add|list|revoke`: works on the database, whether the server runs or not. */
#pragma once

/* argv behind "key". The exit status. */
int key_verb(int argc, char **argv);
