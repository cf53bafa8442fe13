import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [react()],
  server: {
    // The server sees the name under which the page is open.
    proxy: { '/databases': { target: 'http://127.0.0.1:8080', changeOrigin: false } },
  },
})
