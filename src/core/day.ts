/** Milliseconds of a day, as clocks of devices and servers count it: without leaps. */
export const DAY_MS = 24 * 60 * 60 * 1000
