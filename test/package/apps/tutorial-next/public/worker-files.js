// Next names the worker's files after the `#` of its address, and a stored answer has none.
addEventListener('fetch', (event) => {
  const { pathname } = new URL(event.request.url)
  if (!pathname.includes('/turbopack-worker-')) return
  event.respondWith(
    caches
      .match(pathname, { ignoreSearch: true })
      .then((stored) => (stored ? new Response(stored.body, stored) : fetch(event.request))),
  )
})
