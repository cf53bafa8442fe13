'use client'

import dynamic from 'next/dynamic'
import { useEffect } from 'react'

// The browser alone renders the shop, so `hilo` is made nowhere else.
const App = dynamic(() => import('./App'), { ssr: false })

export default function Page() {
  useEffect(() => {
    // Only the built app has the file.
    if (process.env.NODE_ENV === 'production')
      navigator.serviceWorker?.register('/service-worker.js')
  }, [])
  return <App />
}
