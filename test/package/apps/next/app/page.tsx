import { HiloError } from 'offline-hilo'
import { Orders } from './orders'

/** A server component: importing the package there does nothing. */
export default function Page() {
  return (
    <>
      <Orders />
      <p>{new HiloError('closed', 'Only a name.').name}</p>
    </>
  )
}
