import { createHiloWorker } from 'offline-hilo-server/durable-object'

const hilo = createHiloWorker((env) => ({
  databases: ['Shop'],
  create: env.HILO_CREATE === 'yes',
  operatorToken: env.HILO_OPERATOR_TOKEN,
}))

export const HiloDatabase = hilo.Database

export default { fetch: hilo.fetch }
