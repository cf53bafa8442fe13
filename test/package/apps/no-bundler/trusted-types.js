trustedTypes.createPolicy('default', {
  // Only the app's own files.
  createScriptURL: (url) => (new URL(url).origin === location.origin ? url : null),
})
