trustedTypes.createPolicy('default', {
  // Only the worker, wherever the app has the file.
  createScriptURL: (url) =>
    url === `${location.origin}/node_modules/offline-hilo/dist/worker/entry.js` ? url : null,
})
