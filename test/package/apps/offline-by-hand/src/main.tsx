import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import App from './App'

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)

// Only the built app has the file.
if (import.meta.env.PROD) navigator.serviceWorker?.register('/service-worker.js')
