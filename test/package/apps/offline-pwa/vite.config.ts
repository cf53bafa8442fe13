import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { VitePWA } from 'vite-plugin-pwa'

export default defineConfig({
  plugins: [react(), VitePWA({ workbox: { globPatterns: ['**/*.{html,js,css,svg}'] } })],
  server: { proxy: { '/databases': 'http://127.0.0.1:8080' } },
})
