import { build, files, prerendered, version } from '$service-worker'

// `build` has the file of the HiLo worker, too.
const CACHE = `app-${version}`
const FILES = [...build, ...files, ...prerendered]

addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)))
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
  // All else goes to the network: a claim must never be answered from a cache.
  if (origin !== location.origin || !FILES.includes(pathname)) return
  event.respondWith(
    caches.match(pathname, { cacheName: CACHE }).then((cached) => cached ?? fetch(event.request)),
  )
})
