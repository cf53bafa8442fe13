// The files of an app and its ids on one origin, on Cloudflare, beside the folder `dist` with the
// files: npm install offline-hilo-server wrangler
// Here, for you alone: npx wrangler dev --var HILO_CREATE:yes --var HILO_OPEN:true
import { createHiloWorker } from 'offline-hilo-server/durable-object'

const hilo = createHiloWorker((env) => ({
  databases: ['Shop'],
  create: env.HILO_CREATE === 'yes',
  operatorToken: env.HILO_OPERATOR_TOKEN,
  // Who may ask: whoever sends one of these tokens, or everybody. Without both it answers nobody.
  // With the sessions of your app, give `authorize` instead.
  tokens: env.ID_TOKENS?.split(','),
  open: env.HILO_OPEN === 'true',
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
