/*
 * PATH in a sandbox, unless the caller says otherwise. Last come stand-ins (guest/bin) for programs that the systems of
 * E2B's sandboxes have and the host's may lack; what is installed is found before them.
 */
#pragma once

#define STAND_INS   "/opt/hotcell/bin"
#define SYSTEM_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:" STAND_INS
#define USER_PATH   "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games:" STAND_INS
