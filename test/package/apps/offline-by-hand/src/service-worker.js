// make-service-worker.js adds two constants in front: VERSION of the build, and FILES, its paths.
const CACHE = `app-${VERSION}`

addEventListener('install', (event) => {
  const files = FILES.map((path) => new Request(path, { cache: 'reload' }))
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(files)))
})

addEventListener('activate', (event) => {
  const isOld = (name) => name.startsWith('app-') && name !== CACHE
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter(isOld).map((name) => caches.delete(name)))),
  )
})

addEventListener('fetch', (event) => {
  const { origin, pathname } = new URL(event.request.url)
  // One page serves every address of the app.
  const path = event.request.mode === 'navigate' ? '/' : pathname
  // All else goes to the network: a claim must never be answered from a cache.
  if (origin !== location.origin || !FILES.includes(path)) return
  event.respondWith(
    caches.match(path, { cacheName: CACHE }).then((cached) => cached ?? fetch(event.request)),
  )
})
