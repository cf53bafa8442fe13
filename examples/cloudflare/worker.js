// The order desk's server: ids, orders, and beside them the pages in `public`. Everybody who has
// its address may order. Give that an authorisation of yours before it is more than a trial.
import { createHiloWorker } from 'offline-hilo-server/durable-object'

export { Orders } from './orders.js'

const hilo = createHiloWorker((env) => ({
  databases: ['Shop'],
  create: env.HILO_CREATE === 'yes',
  operatorToken: env.HILO_OPERATOR_TOKEN,
  // Who may have ids: whoever sends one of these tokens, or everybody. Without both, nobody.
  tokens: env.ID_TOKENS?.split(','),
  open: env.HILO_OPEN === 'true',
}))

export const HiloDatabase = hilo.Database

export default {
  fetch(request, env) {
    const { pathname } = new URL(request.url)
    if (pathname !== '/api/orders') return hilo.fetch(request, env)
    return env.ORDERS.get(env.ORDERS.idFromName('Shop')).fetch(request)
  },
}
