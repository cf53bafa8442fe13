export default defineNuxtPlugin(() => {
  // Only the built app has the file.
  if (!import.meta.dev) navigator.serviceWorker?.register('/service-worker.js')
})
