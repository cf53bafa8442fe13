/** As in package.json; a test compares them. Page and worker tell it to each other. */
export const VERSION = '0.1.0'
