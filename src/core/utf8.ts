/** How many bytes a well-formed text has in UTF-8. Jest's jsdom has no `TextEncoder` for it. */
export const utf8Length = (text: string): number => encodeURI(text).replace(/%../g, '.').length
