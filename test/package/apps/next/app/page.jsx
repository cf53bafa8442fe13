import { HiloError } from 'offline-hilo'
import { Orders } from './orders'

/** A server component: importing the package there does nothing. */
export default function Page() {
  return <Orders errorName={new HiloError('closed', 'Only a name.').name} />
}
