import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import App from './App'
import { hilo } from './hilo'

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)

// The inspector shows who has which numbers. Only while you develop.
if (import.meta.env.DEV) {
  await import('offline-hilo/inspector')
  const inspector = document.createElement('hilo-inspector')
  inspector.hilo = hilo
  document.body.append(inspector)
}
