import { Orders } from './orders'

export default function Page() {
  return <Orders />
}
