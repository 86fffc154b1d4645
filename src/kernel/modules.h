/* Starts every module that keeps state of its own, in an order that is visible here. */
#pragma once

int modules_init(void); /* 0 or -errno */
