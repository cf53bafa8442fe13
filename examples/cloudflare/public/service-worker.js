// Keeps the app's files. The network is asked first; what it gives replaces what is kept.

const FILES = ['/', '/app.js', '/orders.js', '/sending.js', '/offline-hilo/modules.json']

self.addEventListener('install', (event) => event.waitUntil(keepAll()))
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()))
self.addEventListener('fetch', (event) => {
  const { method, url } = event.request
  const { origin, pathname } = new URL(url)
  const isFile =
    method === 'GET' && origin === location.origin && !/^\/(api|databases)\//.test(pathname)
  if (isFile) event.respondWith(fetchFirst(event.request))
})

async function keepAll() {
  const modules = await (await fetch('/offline-hilo/modules.json')).json()
  await (await caches.open('app')).addAll([...FILES, ...modules])
}

async function fetchFirst(request) {
  const cache = await caches.open('app')
  try {
    const answer = await fetch(request)
    if (answer.ok) await cache.put(request, answer.clone())
    return answer
  } catch {
    return (await cache.match(request, { ignoreSearch: true })) ?? Response.error()
  }
}
