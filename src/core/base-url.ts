/**
 * The address that relative URLs are resolved against: the page's, or that of a worker's file. For
 * a worker that was made from a blob, `blob:https://shop.example.com/…`, it is the part after
 * `blob:`.
 * @param place undefined outside of a browser
 */
export const baseUrl = (place: { href: string } | undefined): string | undefined =>
  place?.href.replace(/^blob:/, '')
