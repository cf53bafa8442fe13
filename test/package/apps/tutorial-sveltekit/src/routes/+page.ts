// The browser alone renders the page, so `hilo` is made nowhere else.
export const ssr = false
// The page is a file of the build, which the service worker stores.
export const prerender = true
