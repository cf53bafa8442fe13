// The files of an app and its ids on one origin, on Cloudflare, beside the folder `dist` with the
// files: npm install offline-hilo-server wrangler; npx wrangler dev --var HILO_CREATE:yes
import { createHiloWorker } from 'offline-hilo-server/durable-object'

const hilo = createHiloWorker((env) => ({
  databases: ['Shop'],
  create: env.HILO_CREATE === 'yes',
  operatorToken: env.HILO_OPERATOR_TOKEN,
}))

export const HiloDatabase = hilo.Database

/** Cloudflare asks it for what is no file. */
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url)
    if (/^\/(databases|operator)\/|^\/healthz$/.test(pathname)) return hilo.fetch(request, env)
    // A file of an older build is missing, and not the page: a browser would take it for a script.
    if (pathname.startsWith('/assets/')) return new Response(null, { status: 404 })
    // Every address of the app is its page.
    return env.ASSETS.fetch(new URL('/', request.url))
  },
}
