# fish completion of fleetadm. Load it with: fleetadm completion fish | source
function __fleetadm_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    test (count $lines) -gt 0; or return
    set -l directive $lines[-1]
    set -e lines[-1]
    switch $directive
        case :files
            __fish_complete_path "$current"
        case :folders
            __fish_complete_directories "$current"
        case '*'
            printf '%s\n' $lines
    end
end
complete -c fleetadm -f -a '(__fleetadm_complete)'
