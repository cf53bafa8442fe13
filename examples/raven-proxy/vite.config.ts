/** Vite passes the HiLo requests of a page on to a RavenDB. */
import { defineConfig } from 'vite'

export default defineConfig({
  server: {
    proxy: {
      '^/databases/Shop/(hilo/next|hilo/return|identity/next)\\?': 'http://127.0.0.1:8080',
    },
  },
})
