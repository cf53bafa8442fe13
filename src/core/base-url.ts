/**
 * The address against which relative URLs stand: the page's, or the file's of a worker. A worker
 * that was made from a blob has `blob:https://shop.example.com/…`, and stands at that origin.
 * @param place outside of a browser there is none
 */
export const baseUrl = (place: { href: string } | undefined): string | undefined =>
  place?.href.replace(/^blob:/, '')
