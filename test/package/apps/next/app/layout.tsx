import { HiloError } from 'offline-hilo'
import type { ReactNode } from 'react'

/** A server component: importing the package there does nothing. */
export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        {children}
        <p>{new HiloError('closed', 'Only a name.').name}</p>
      </body>
    </html>
  )
}
